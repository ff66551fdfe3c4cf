/* Whether this processor can run what was compiled with AVX2 and FMA, and which sources the library was built from. */
int fast(void) {
#ifdef WITH_FAST
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return 0;
#endif
}

const char *sources(void) { return SOURCES; }
