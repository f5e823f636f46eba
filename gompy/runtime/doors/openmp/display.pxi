# OMP_DISPLAY_ENV and omp_display_env: behind the stock libgomp's list, the variables that this library and its plugins
# read, in the same form.  Those of the devices' own control variables (OMP_..._DEV, _ALL) are shown as they were given.

cdef extern from *:
    """
    #include <ctype.h>
    extern char **environ;

    /* `verbose`: also what is of use to few.  The value that counts where the variable isn't set; "": none.  */
    static const struct { const char *name, *value; char verbose, emulated; } gompy_variables[] = {
      { "GOMPY_PLUGINS", "intelmic", 0, 0 },
      { "OFFLOAD_EMUL_NUM", "1", 0, 1 },
      { "OFFLOAD_EMUL_MEM", "64G", 0, 1 },
      { "OFFLOAD_EMUL_TEAMS", "", 0, 1 },
      { "OFFLOAD_EMUL_RUN", "", 1, 1 },
      { "GOMPY_CHECK", "0", 1, 0 },
      { "GOMPY_CUDA", "auto", 1, 0 },
      { "GOMPY_UNMAPPED", "keep", 1, 0 },
      { "GOMPY_STATS", "", 1, 0 },
      { "GOMPY_TRACE", "", 1, 0 },
      { "GOMPY_TRACE_FILE", "", 1, 0 },
      { "GOMPY_PYTHON_DEVICE", "", 1, 0 },
      { "GOMPY_PYTHON", "", 1, 0 },
      { "GOMP_DEBUG", "0", 1, 0 },
    };

    static const char *
    gompy_value (const char *name)
    {
      const char *value = secure_getenv (name);
      return value && *value ? value : NULL;
    }

    /* Whether an entry of the environment is a device's: OMP_<x>_DEV=, OMP_<x>_DEV_<n>=, OMP_<x>_ALL=.  */
    static int
    gompy_device_variable (const char *entry)
    {
      const char *end = strchr (entry, '=');
      if (strncmp (entry, "OMP_", 4) != 0 || end == NULL)
        return 0;
      const char *p = end;
      while (p > entry && isdigit ((unsigned char) p[-1]))
        p--;
      if (p < end)
        return p - entry > 9 && memcmp (p - 5, "_DEV_", 5) == 0;
      return end - entry > 8 && (memcmp (end - 4, "_DEV", 4) == 0 || memcmp (end - 4, "_ALL", 4) == 0);
    }

    /* DEVICE: the default device, where libgompy has chosen it, else -1.  */
    static void
    gompy_display (int verbose, int device)
    {
      const char *plugins = gompy_value ("GOMPY_PLUGINS");
      int emulated = plugins == NULL || strstr (plugins, "intelmic") != NULL;
      fputs ("\\nGOMPY DISPLAY ENVIRONMENT BEGIN\\n", stderr);
      if (device >= 0)
        fprintf (stderr, "  OMP_DEFAULT_DEVICE = '%d'\\n  OMP_TARGET_OFFLOAD = 'MANDATORY'\\n", device);
      for (size_t i = 0; i < sizeof gompy_variables / sizeof gompy_variables[0]; i++)
        {
          const char *name = gompy_variables[i].name, *value = gompy_value (name);
          if ((gompy_variables[i].verbose && !verbose) || (gompy_variables[i].emulated && !emulated))
            continue;
          if (value == NULL && strcmp (name, "OFFLOAD_EMUL_TEAMS") == 0)
            fprintf (stderr, "  %s = '%d'\\n", name, omp_get_num_procs ());
          else if (value == NULL && strcmp (name, "OFFLOAD_EMUL_MEM") == 0 && gompy_value ("OFFLOAD_EMUL_RUN"))
            fprintf (stderr, "  %s = '4G'\\n", name);
          else
            fprintf (stderr, "  %s = '%s'\\n", name, value ? value : gompy_variables[i].value);
        }
      for (char **e = environ; *e; e++)
        if (gompy_device_variable (*e))
          fprintf (stderr, "  %.*s = '%s'\\n", (int) (strchr (*e, '=') - *e), *e, strchr (*e, '=') + 1);
      fputs ("GOMPY DISPLAY ENVIRONMENT END\\n", stderr);
    }
    """
    void gompy_display(int verbose, int device) noexcept nogil


cdef inline int chosen_default() noexcept nogil:
    """The default device where the stock libgomp, which knows of none of ours, has shown another one."""
    return stock_get_default_device() if default_is_ours else -1


cdef void display_at_start() noexcept nogil:
    """OMP_DISPLAY_ENV: the stock libgomp, whose constructor was before ours, has printed its part."""
    cdef const char *value = secure_getenv(b"OMP_DISPLAY_ENV")
    if value == NULL:
        return
    if word_is(value, b"true"):
        gompy_display(0, chosen_default())
    elif word_is(value, b"verbose"):
        gompy_display(1, chosen_default())


cdef public void omp_display_env(int verbose) noexcept nogil:
    """The stock list, then ours."""
    cdef void_int_fn stock = <void_int_fn> stock_symbol(b"omp_display_env")
    if stock != NULL:
        stock(verbose)
    gompy_display(verbose, chosen_default())


cdef public void omp_display_env_(const int32_t *verbose) noexcept nogil:
    """Fortran."""
    omp_display_env(verbose[0] != 0)


cdef public void omp_display_env_8_(const int64_t *verbose) noexcept nogil:
    """Fortran, 8-byte logicals."""
    omp_display_env(verbose[0] != 0)
