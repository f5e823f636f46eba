// An exception must not leave a region: the program ends.
// { dg-do run }
// { dg-skip-if "nvptx has no exceptions: the compiler refuses" { offload_target_nvptx } }
// { dg-shouldfail "terminate" }
// { dg-output "terminate called after throwing an instance of 'int'" }
// { gompy-launches 0 }

int
main ()
{
  try
    {
#pragma omp target
      throw 1;
    }
  catch (...)
    {
      return 0;
    }
  return 0;
}
