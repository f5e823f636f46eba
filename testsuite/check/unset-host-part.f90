! check: unset-host x
program main
  implicit none
  real :: x(200)
  integer :: i
  !$omp target map(from: x)
  do i = 1, 199
     x(i) = i
  end do
  !$omp end target
  print *, sum(x) > 0
end program
