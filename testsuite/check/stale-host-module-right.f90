! check: right
module grid
  implicit none
  real :: field(200)
  !$omp declare target (field)
end module
program main
  use grid
  implicit none
  integer :: i
  field = 0
  !$omp target update to(field)
  !$omp target
  do i = 1, 200
    field(i) = i
  end do
  !$omp end target
  !$omp target update from(field)
  print *, sum(field) >= 0
end program
