/* Loads an agent library as a JVM would and calls its entry with a JVM that has no tool interface: symbols, thread
   locals, allocation and output of the library work, and it refuses politely. */
#include <dlfcn.h>
#include <stdio.h>

struct vm {
    const void *const *functions;
};

static int get_env(struct vm *vm, void **env, int version) {
    (void)vm;
    (void)version;
    *env = NULL;
    return -3; /* JNI_EVERSION */
}

static int refuse(struct vm *vm) {
    (void)vm;
    return -1;
}

int main(int count, char **arguments) {
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "not loaded: %s\n", count > 1 ? dlerror() : "no argument");
        return 2;
    }
    int (*on_load)(struct vm *, char *, void *) = (int (*)(struct vm *, char *, void *))dlsym(library, "Agent_OnLoad");
    if (on_load == NULL) {
        return 3;
    }
    /* Three reserved places, then DestroyJavaVM, AttachCurrentThread, DetachCurrentThread, GetEnv,
       AttachCurrentThreadAsDaemon. */
    const void *const functions[8] = {NULL, NULL, NULL, refuse, refuse, refuse, get_env, refuse};
    struct vm vm = {functions};
    char options[] = "log=info";
    return on_load(&vm, options, NULL) == 0 ? 0 : 4;
}
