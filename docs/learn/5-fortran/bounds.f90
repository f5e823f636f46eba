program bounds
  implicit none
  integer :: a(4), i, n
  n = 4
  a = 0
  !$omp target map(tofrom: a)
  do i = 1, n + 1
    a(i) = i
  end do
  !$omp end target
  print '(4I3)', a
end program
