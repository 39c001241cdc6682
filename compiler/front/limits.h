// What a program may not exceed, in text and while it is elaborated: beyond it stands an error with
// a place, never a crash, a shorter model, or a compiler that does not end. For front/ alone.
#ifndef SLUICE_FRONT_LIMITS_H
#define SLUICE_FRONT_LIMITS_H

#define LIMIT_FILE_BYTES (1 << 20)
#define LIMIT_NAME       255      // characters of a name, a number or a layout literal
#define LIMIT_NESTING    200      // brackets, bodies and right operands inside each other
#define LIMIT_CHAIN      1000     // operators, or calls and subscripts, in a row
#define LIMIT_ITEMS      10000    // items between one pair of brackets
#define LIMIT_FILES      100      // files that a program uses
#define LIMIT_CALLS      100      // calls inside each other
#define LIMIT_NODES      1000000  // operations of a model
#define LIMIT_STEPS      20000000 // expressions and statements computed, list members made
#define LIMIT_LIST       100000   // members of a list
#define LIMIT_SYMBOLS    1000     // named sizes of a model's inputs
#define LIMIT_TEXT       65536    // bytes of a text, or of a parameter's path

#endif
