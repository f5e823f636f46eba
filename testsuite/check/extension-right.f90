! check: right
program main
  real :: x(60)
  x = 1
  !$omp target enter data map(to: x(1:60))
  !$omp target map(tofrom: x(1:60))
  x(1:60) = 3
  !$omp end target
  !$omp target exit data map(from: x(1:60))
  print *, x(1)
end program
