// An exception must not leave a region: the program ends.
// { dg-do run }
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
