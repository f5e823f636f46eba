module points
  implicit none
  type point
    real :: x, y
  end type
contains
  real function distance (p)
    !$omp declare target
    type(point), intent(in) :: p
    distance = sqrt (p%x**2 + p%y**2)
  end function
end module

program main
  use points
  implicit none
  type(point) :: p(3)
  real :: d(3)
  integer :: i
  p = [point (3, 4), point (6, 8), point (5, 12)]
  !$omp target map(to: p) map(from: d)
  do i = 1, 3
    d(i) = distance (p(i))
  end do
  !$omp end target
  print '(3F6.1)', d
end program
