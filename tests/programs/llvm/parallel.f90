program parallel
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), s
  integer :: i
  x = 2
  !$omp target parallel do map(tofrom: x)
  do i = 1, n
    x(i) = x(i) * i
  end do
  !$omp end target parallel do
  print '(f12.1)', sum(x)
  !$omp target teams distribute map(tofrom: x)
  do i = 1, n
    x(i) = x(i) + 1
  end do
  !$omp end target teams distribute
  print '(f12.1)', sum(x)
  s = 0
  !$omp target teams distribute parallel do map(to: x) reduction(+: s) map(tofrom: s)
  do i = 1, n
    s = s + x(i)
  end do
  !$omp end target teams distribute parallel do
  print '(f12.1)', s
end program
