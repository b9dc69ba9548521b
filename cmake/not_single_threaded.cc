// Whether the process has one thread, as glibc tells it (sys/single_threaded.h). Debian's libyaml-cpp.a is compiled for
// programs, not for shared libraries: it reads this variable where a program has it, which a library's code cannot reach. So
// the library has one of its own, which says what is always safe: that there may be others.
extern "C" {
char __libc_single_threaded = 0;  // NOLINT: the name is glibc's
}
