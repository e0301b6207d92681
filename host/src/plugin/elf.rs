//! A look at a file before the system's loader sees it.
//!
//! `dlopen` maps what the program headers say; of a file that is shorter than they say it touches pages that do not
//! exist, and the process dies of SIGBUS. So whatever is not whole is refused here, with a sentence.
#![forbid(unsafe_code)]

use super::error::{LoadError, LoadErrorKind};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endian, Endianness, Object, ObjectSymbol, ReadCache, ReadRef, elf};
use std::fs::File;
use std::path::Path;

type Header = elf::FileHeader64<Endianness>;

/// What a plugin's file must be for this host to load it: the number in the header, and the name for people.
const MACHINE: (elf::Machine, &str) = if cfg!(target_arch = "aarch64") {
    (elf::EM_AARCH64, "aarch64")
} else if cfg!(target_arch = "riscv64") {
    (elf::EM_RISCV, "riscv64")
} else {
    (elf::EM_X86_64, "x86-64")
};

/// Whether the file is a whole shared object for this machine.
///
/// # Errors
/// One sentence with what was found and what was expected.
pub fn check(path: &Path) -> Result<(), LoadError> {
    let refuse = |kind, text: String| Err(LoadError::of(kind, path, text));
    let (file, size) = open(path)?;
    let cache = ReadCache::new(&file);
    let Ok(ident) = (&cache).read_bytes_at(0, size.min(16)) else {
        return refuse(LoadErrorKind::Unreadable, "the file cannot be read".into());
    };
    if !ident.starts_with(&elf::ELFMAG) {
        let found: Vec<_> = ident.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let found = if found.is_empty() { "nothing: the file is empty".into() } else { found.join(" ") };
        return refuse(
            LoadErrorKind::NotElf,
            format!("not a shared object: expected it to begin with 7f 45 4c 46 (ELF), found {found}"),
        );
    }
    let header_size = size_of::<Header>() as u64;
    if size < header_size {
        return refuse(
            LoadErrorKind::Truncated,
            format!("truncated: the file has {size} bytes, its header alone takes {header_size}"),
        );
    }
    if let Some(class) = ident.get(4).filter(|class| **class != elf::ELFCLASS64.0) {
        let found = if *class == elf::ELFCLASS32.0 { "a 32-bit one".into() } else { format!("class {class}") };
        return refuse(LoadErrorKind::Machine, format!("expected a 64-bit shared object, found {found}"));
    }
    let (Ok(header), Ok(endian)) =
        (Header::parse(&cache), Header::parse(&cache).and_then(|header: &Header| header.endian()))
    else {
        return refuse(LoadErrorKind::NotElf, "its ELF header is of an unknown version".into());
    };
    let (machine, name) = MACHINE;
    if header.e_machine(endian) != machine || endian.is_big_endian() != cfg!(target_endian = "big") {
        return refuse(
            LoadErrorKind::Machine,
            format!(
                "expected a shared object for {name} (machine {}), found machine {}",
                machine.0,
                header.e_machine(endian).0
            ),
        );
    }
    if header.e_type(endian) != elf::ET_DYN {
        let found = match header.e_type(endian) {
            elf::ET_REL => "an object file (was it linked?)".into(),
            elf::ET_EXEC => "a program".into(),
            elf::ET_CORE => "a core dump".into(),
            other => format!("ELF type {}", other.0),
        };
        return refuse(LoadErrorKind::NotElf, format!("expected a shared object, found {found}"));
    }
    check_whole(path, header, endian, &cache, size)
}

/// Whether all that the headers speak of is inside the file.
fn check_whole<'a>(
    path: &Path,
    header: &Header,
    endian: Endianness,
    data: impl ReadRef<'a>,
    size: u64,
) -> Result<(), LoadError> {
    let truncated = |what: &str, end: u64| {
        Err(LoadError::of(
            LoadErrorKind::Truncated,
            path,
            format_args!("truncated: the file has {size} bytes, {what} ends at byte {end}"),
        ))
    };
    let table_end = |offset: u64, entry: u16, count: u16| offset.saturating_add(u64::from(entry) * u64::from(count));
    let segments_end = table_end(header.e_phoff(endian), header.e_phentsize(endian), header.e_phnum(endian));
    if segments_end > size {
        return truncated("its list of segments", segments_end);
    }
    let Ok(segments) = header.program_headers(endian, data) else {
        return Err(LoadError::of(LoadErrorKind::NotElf, path, "its list of segments cannot be read"));
    };
    for segment in segments {
        let end = segment.p_offset(endian).saturating_add(segment.p_filesz(endian));
        if end > size {
            return truncated("a segment", end);
        }
    }
    if !segments.iter().any(|segment| segment.p_type(endian) == elf::PT_DYNAMIC) {
        return Err(LoadError::of(
            LoadErrorKind::NotElf,
            path,
            "a shared object without a dynamic segment cannot be loaded",
        ));
    }
    // The list of sections is last in the file. The loader does not need it, but without it the file is not what the
    // linker wrote. A file that was stripped of it says so with offset 0.
    let sections_end = table_end(header.e_shoff(endian), header.e_shentsize(endian), header.e_shnum(endian));
    if header.e_shoff(endian) != 0 && sections_end > size {
        return truncated("its list of sections", sections_end);
    }
    Ok(())
}

fn open(path: &Path) -> Result<(File, u64), LoadError> {
    let unreadable = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => LoadErrorKind::NotFound,
            _ => LoadErrorKind::Unreadable,
        };
        LoadError::of(kind, path, format_args!("the file cannot be read: {error}"))
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_file() {
        Ok((file, metadata.len()))
    } else {
        Err(LoadError::of(LoadErrorKind::NotElf, path, "expected a shared object, found what is no regular file"))
    }
}

/// Whether a file is a whole shared object that exports one of these symbols, without loading it.
pub fn exports_one_of(path: &Path, symbols: &[&str]) -> bool {
    if check(path).is_err() {
        return false;
    }
    let Ok((file, _)) = open(path) else { return false };
    let cache = ReadCache::new(&file);
    let Ok(parsed) = object::read::elf::ElfFile64::<Endianness, _>::parse(&cache) else { return false };
    parsed
        .dynamic_symbols()
        .any(|symbol| symbol.is_definition() && symbol.name().is_ok_and(|name| symbols.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> LoadError {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("libx.so");
        std::fs::write(&path, bytes).unwrap();
        let error = check(&path).unwrap_err();
        assert!(error.to_string().contains("libx.so"), "{error}");
        error
    }

    #[test]
    fn what_is_no_elf_is_named() {
        assert!(refusal(b"#!/bin/sh\n").to_string().ends_with("found 23 21 2f 62"));
        assert!(refusal(b"").to_string().ends_with("found nothing: the file is empty"));
        assert_eq!(refusal(b"\x7fELF").kind(), LoadErrorKind::Truncated);
    }

    #[test]
    fn another_class_machine_or_type_is_named() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let changed = |at: usize, value: u8| {
            let mut bytes = own.clone();
            bytes[at] = value;
            refusal(&bytes)
        };
        assert!(changed(4, 1).to_string().ends_with("expected a 64-bit shared object, found a 32-bit one"));
        assert_eq!(changed(18, 3).kind(), LoadErrorKind::Machine);
        assert!(
            changed(16, 1).to_string().ends_with("expected a shared object, found an object file (was it linked?)")
        );
    }
}
