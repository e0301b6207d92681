//! The program `tickworks`.

fn main() -> std::process::ExitCode {
    tickworks::cli::main()
}
