! check: unmapped x(2)%a
program main
  implicit none
  type box
    integer :: n
    real, pointer :: a(:)
  end type
  type(box) :: x(3)
  real :: total
  integer :: i
  do i = 1, 3
    allocate(x(i)%a(40))
    x(i)%a = i
  end do
  total = 0
  !$omp target map(to: x) map(tofrom: total)
  do i = 1, 40
    total = total + x(2)%a(i)
  end do
  !$omp end target
  print *, total
end program
