! check: right
program main
  real, allocatable :: x(:)
  real :: s
  allocate (x(100))
  x = 1
  s = 0
  !$omp target enter data map(to: x)
  x = 5
  !$omp target update to(x)
  !$omp target map(tofrom: s)
  s = sum(x)
  !$omp end target
  !$omp target exit data map(delete: x)
  print *, s
end program
