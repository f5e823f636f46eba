! check: stale-device
program main
  implicit none
  type particles
    integer :: n
    real :: x(300)
  end type
  type(particles) :: p
  real :: total
  integer :: i
  p%n = 300
  p%x = 1
  total = 0
  !$omp target data map(to: p) map(tofrom: total)
  p%x(10:20) = 7

  !$omp target map(tofrom: total)
  do i = 1, 300
    total = total + p%x(i)
  end do
  !$omp end target
  !$omp end target data
  print *, total > 0
end program
