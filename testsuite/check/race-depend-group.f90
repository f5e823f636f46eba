! check: race field
program group
  implicit none
  integer, allocatable :: field(:)
  integer :: i
  allocate (field(2000))
  field = 1
  !$omp taskgroup
  !$omp target map(tofrom: field) nowait depend(inout: field)
  do i = 1, 2000
    field(i) = field(i) + i
  end do
  !$omp end target
  field(3) = 0
  !$omp end taskgroup
  print *, field(2)
end program group
