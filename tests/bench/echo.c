/* Answers each line with itself: what a round trip costs when the bot costs nothing. */
#include <unistd.h>

static char buffer[1 << 16];

int main(void) {
    for (;;) {
        ssize_t got = read(0, buffer, sizeof buffer);
        if (got <= 0) return 0;
        if (write(1, buffer, got) != got) return 1;
    }
}
