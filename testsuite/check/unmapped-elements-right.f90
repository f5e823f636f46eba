! check: right
program main
  implicit none
  type box
    integer :: n
    real, pointer :: a(:)
  end type
  type(box) :: x(3)
  real :: total
  real, pointer :: p(:)
  integer :: i
  do i = 1, 3
    allocate(x(i)%a(40))
    x(i)%a = i
  end do
  total = 0
  p => x(2)%a
  !$omp target map(to: x, p) map(tofrom: total)
  do i = 1, 40
    total = total + p(i)
  end do
  !$omp end target
  print *, total
end program
