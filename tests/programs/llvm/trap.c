/* A region that ends by a signal; with an argument, objects that do not agree on `omp requires`.  */
extern void __tgt_register_requires (long);
int
main (int argc, char **argv)
{
  if (argc > 1)
    {
      __tgt_register_requires (1);
      __tgt_register_requires (3);
    }
  #pragma omp target
  __builtin_trap ();
}
