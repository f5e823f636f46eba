! check: unset-host x
program main
  implicit none
  real, save :: x(200)
  integer :: i
  !$omp target map(from: x)
  do i = 2, 200
     x(i) = i
  end do
  !$omp end target
  print *, sum(x) > 0
end program
