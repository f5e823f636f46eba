struct point { char mark; float x; };

int main(void)
{
  struct point p = {'a', 1};
#pragma acc enter data create(p.mark)
#pragma acc enter data create(p.x)
  return 0;
}
