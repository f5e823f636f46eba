! check: right
program past_block_right
  implicit none
  integer :: i, n = 100
  real(8), allocatable :: a(:)
  allocate (a(n))
  do i = 1, n
    a(i) = i
  end do
  !$omp target map(tofrom: a(1:n))
  do i = 1, n
    a(i) = 2 * a(i)
  end do
  !$omp end target
  print *, a(n)
end program
