# Somebody's project against the library's tarball: with CMake and with pkg-config, in C and in C++.
set -e
tree=$(echo /root/libforetrain-*)
# What CMake finds, the shared library and the static one.
cmake -G "Unix Makefiles" -S /root/outside -B /root/built -DCMAKE_PREFIX_PATH="$tree" > /root/said || { cat /root/said; exit 1; }
cmake --build /root/built > /root/said 2>&1 || { cat /root/said; exit 1; }
for program in c_shared c_static cpp_shared cpp_static; do
  echo "$program: $(/root/built/$program 2> /root/errors)"
  grep -q "unknown model 'nobody'" /root/errors
done
# What pkg-config says; the program then stands alone with the library.
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
# shellcheck disable=SC2046
cc -std=c99 /root/outside/program.c $(pkg-config --cflags --libs foretrain) -o /root/scheduler
test -s "$tree/share/doc/foretrain/LICENCES.third-party"
