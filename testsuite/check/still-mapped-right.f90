! check: right
program main
  real, allocatable :: x(:)
  allocate (x(10))
  x = 1
  !$omp target enter data map(to: x)
  !$omp target
  x(1) = 2
  !$omp end target
  !$omp target exit data map(from: x)
  print *, 'done'
end program
