! check: right
program main
  implicit none
  integer :: i, j, a(32, 8), rows(8)
  a = 3
  !$acc parallel num_gangs(2) num_workers(4) copyin(a) copyout(rows)
  !$acc loop gang worker
  do j = 1, 8
    rows(j) = 0
    !$acc loop seq
    do i = 1, 32
      rows(j) = rows(j) + a(i, j)
    end do
  end do
  !$acc end parallel
  print *, sum (rows)
end program
