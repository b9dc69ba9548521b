// Nothing: a target that owns a precompiled header (precompiled.cmake) needs a source.
