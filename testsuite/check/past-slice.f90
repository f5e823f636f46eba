! check: past-section v
program main
  implicit none
  integer :: i
  real, allocatable :: v(:)
  allocate (v(1000))
  v = 1
  !$omp target map(tofrom: v(1:500))
  do i = 1, 1000
    v(i) = v(i) + 1
  end do
  !$omp end target
  print *, v(1)
  deallocate (v)
end program
