! check: not-present x
program main
  integer :: x(20)
  x = 1
  !$omp target map(tofrom: x)
  x = x + 1
  !$omp end target
  !$omp target update from(x)
  print *, x(20)
end program
