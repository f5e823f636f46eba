program scale
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n)
  integer :: i
  x = 2
  !$omp target data map(tofrom: x)
  !$omp target
  do i = 1, n
    x(i) = x(i) * i
  end do
  !$omp end target
  !$omp target update from(x)
  print '(f12.1)', sum(x)
  !$omp target
  x(1) = -1
  !$omp end target
  !$omp end target data
  print '(f12.1)', sum(x)
end program
