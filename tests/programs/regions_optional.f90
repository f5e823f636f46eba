program optionals
  implicit none
  integer :: v
  v = 1
  call with (v)
  call with ()
contains
  subroutine with (a)
    integer, optional :: a
    integer :: seen
    seen = 0
    !$omp target data map(tofrom: a) use_device_addr(a)
    !$omp target has_device_addr(a) map(tofrom: seen)
    if (present (a)) seen = a
    !$omp end target
    !$omp end target data
    print *, seen
  end subroutine
end program
