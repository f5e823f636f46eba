! check: right
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
  !$omp end taskgroup
  field(3) = 0
  print *, field(2)
end program group
