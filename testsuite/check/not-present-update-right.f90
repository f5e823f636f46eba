! check: right
program main
  integer :: x(20)
  x = 1
  !$omp target map(tofrom: x)
  x = x + 1
  !$omp end target
  print *, x(20)
end program
