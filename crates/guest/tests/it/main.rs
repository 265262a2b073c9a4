//! Guests that boot: a kernel, an initramfs and QEMU are real.

mod boots;
mod images;
mod shells;
