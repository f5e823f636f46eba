! check: past-section field
module shared
  integer :: field(200) = 1
end module

program main
  use shared
  integer :: i, n
  n = 201
  !$omp target map(tofrom: field)
  do i = 1, n
    field(i) = field(i) + 1
  end do
  !$omp end target
  print *, field(200)
end program
