program sums
  implicit none
  integer, parameter :: n = 100
  real, allocatable :: x(:), y(:)
  integer :: i
  allocate (x(n), y(n))
  x = [(i, i = 1, n)]
  y = 1
  !$omp target map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + 2 * x(i)
  end do
  !$omp end target
  print *, y(n)
end program
