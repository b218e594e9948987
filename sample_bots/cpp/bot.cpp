#include "bot.hpp"

int main() { return coup::run(MyBot{}); }
