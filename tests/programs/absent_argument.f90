! An argument that is absent is neither entered nor ended: there is nothing to complain of.
program test
  implicit none
  integer :: a(64), r
  a = 2
  r = total (a)
  if (r /= 128) stop 1
contains
  function total (a, b)
    integer :: a(64), total, s
    integer, optional :: b(64)
    s = 0
    !$acc enter data copyin(a, b, s)
    !$acc parallel present(a, b, s)
    s = sum (a)
    if (present (b)) s = s + sum (b)
    !$acc end parallel
    !$acc exit data copyout(s) delete(a, b)
    total = s
  end function
end program
