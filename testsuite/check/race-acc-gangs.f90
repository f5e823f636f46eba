! check: race counts
program main
  implicit none
  integer :: i, a(256), counts(8)
  a = [(i, i = 1, 256)]
  counts = 0
  !$acc parallel loop gang num_gangs(8) copyin(a) copy(counts)
  do i = 1, 256
    counts(1 + mod (a(i), 8)) = counts(1 + mod (a(i), 8)) + 1
  end do
  print *, sum (counts) > 0
end program
