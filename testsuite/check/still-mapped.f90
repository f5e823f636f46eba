! check: still-mapped x
program main
  real, allocatable :: x(:)
  allocate (x(10))
  x = 1
  !$omp target enter data map(to: x)
  !$omp target
  x(1) = 2
  !$omp end target
  print *, 'done'
end program
