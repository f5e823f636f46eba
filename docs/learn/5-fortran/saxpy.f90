program saxpy
  implicit none
  integer, parameter :: n = 1000
  real, allocatable :: x(:), y(:)
  integer :: i
  allocate (x(n), y(n))
  x = 2.0
  y = 1.0
  !$omp target teams distribute parallel do map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = 3.0 * x(i) + y(i)
  end do
  print '(2F6.1)', y(1), y(n)
end program
