! check: race total
program main
  use omp_lib
  implicit none
  integer :: i, total
  integer (omp_lock_kind) :: lock
  total = 0
  !$omp target map(tofrom: total)
  call omp_init_lock (lock)
  !$omp parallel do num_threads(4)
  do i = 1, 50
    total = total + i
  end do
  call omp_destroy_lock (lock)
  !$omp end target
  print *, total > 0
end program
