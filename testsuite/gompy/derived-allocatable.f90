! Allocatable components of derived types go to the device through arguments: GCC 12 does not map them by name
! (derived-allocatable-map.f90).  Pointer components are mapped by name.
! { dg-do run }
! { gompy-sets "-O0" "-O2" }
! { gompy-launches 4 }
program derived
  implicit none
  type part
    integer, allocatable :: values(:)
    integer :: factor
  end type
  type whole
    type(part) :: first, second
  end type
  type linked
    integer, pointer :: others(:)
    integer :: offset
  end type
  type(whole) :: w
  type(linked) :: l
  integer :: i, total

  allocate (w%first%values(100), w%second%values(20), l%others(50))
  w%first%values = [(i, i = 1, 100)]
  w%second%values = 2
  l%others = 3
  l%offset = 50
  w%first%factor = 3

  total = 0
  call scaled (w%first%values, w%first%factor, total)
  if (total /= 5050 * 3) stop 1

  call increased (w%first%values, w%second%values)
  if (any (w%first%values /= [(i + 40, i = 1, 100)])) stop 2
  if (w%second%values(20) /= 7 .or. w%second%values(19) /= 2) stop 3

  !$omp target map(tofrom: l%others) map(to: l%offset)
  l%others = l%others + l%offset
  !$omp end target
  if (any (l%others /= 53)) stop 4

  !$omp target map(to: l%others) map(from: total)
  total = sum (l%others)
  !$omp end target
  if (total /= 50 * 53) stop 5
contains
  subroutine scaled (values, factor, total)
    integer, intent(in) :: values(:), factor
    integer, intent(inout) :: total
    !$omp target map(to: values) map(tofrom: total)
    total = sum (values) * factor
    !$omp end target
  end subroutine
  subroutine increased (a, b)
    integer, allocatable, intent(inout) :: a(:), b(:)
    !$omp target map(tofrom: a, b)
    a = a + sum (b)
    b(20) = 7
    !$omp end target
  end subroutine
end program
