module m
contains
subroutine s(a, n)
  integer :: n, i
  real :: a(n)
  !$omp target teams distribute parallel do map(tofrom: a)
  do i = 1, n
    a(i) = a(i) * 2
  end do
end subroutine
end module
program p
  use m
  real, allocatable :: x(:)
  real :: y(10)
  integer :: k
  allocate (x(10)); x = 1; y = 1
  call s(y, 10)
  !$omp target map(tofrom: x) map(from: k)
  x(1) = 7; k = 3
  !$omp end target
  print *, x(1), y(1), k
end program
