pub mod sdf;
