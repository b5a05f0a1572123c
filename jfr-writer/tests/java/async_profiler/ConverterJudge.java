import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import one.jfr.JfrReader;
import one.jfr.MethodRef;
import one.jfr.StackTrace;
import one.jfr.event.Event;

/** What the reader of async-profiler's converter makes of every file of a folder: one block of lines a file. */
public class ConverterJudge {
    /** An event of a type that the reader does not know: its start only. */
    public static class Any extends Event {
        public Any(JfrReader reader) {
            super(reader.getVarlong(), 0, 0);
        }
    }

    /** A leak sample: start, duration, thread, stack trace. */
    public static class Sample extends Event {
        public Sample(JfrReader reader) {
            this(reader.getVarlong(), reader.getVarlong(), reader);
        }

        private Sample(long start, long duration, JfrReader reader) {
            super(start, reader.getVarint(), reader.getVarint());
        }
    }

    private static final String SAMPLE = "jdk.OldObjectSample";

    public static void main(String[] arguments) throws Exception {
        try (var files = Files.list(Path.of(arguments[0]))) {
            for (Path file : files.sorted().toList()) {
                System.out.println("FILE|" + file.getFileName());
                try {
                    judge(file.toString());
                } catch (Throwable error) {
                    System.out.println("ERROR|" + error);
                }
            }
        }
    }

    private static void judge(String file) throws Exception {
        var types = new TreeSet<String>();
        try (JfrReader reader = new JfrReader(file)) {
            types.addAll(reader.typesByName.keySet());
        }
        for (String type : types) {
            // A filler has no start that Any could read: its bytes may be the last of the file.
            boolean ours = type.startsWith("jfrchains.") && !type.equals("jfrchains.Filler");
            if (!ours && !type.equals(SAMPLE)) {
                continue;
            }
            Class<? extends Event> as = type.equals(SAMPLE) ? Sample.class : Any.class;
            long events = 0;
            try (JfrReader reader = new JfrReader(file)) {
                reader.registerEvent(type, as);
                for (Event event; (event = reader.readEvent(as)) != null; events++) {
                    if (event instanceof Sample) {
                        System.out.println("SAMPLE|" + reader.threads.get(event.tid) + "|" + top(reader, event));
                    }
                }
                System.out.println("TYPE|" + type + "|" + events);
                if (reader.incomplete()) {
                    System.out.println("ERROR|incomplete");
                }
            }
        }
    }

    private static String top(JfrReader reader, Event event) {
        StackTrace stack = reader.stackTraces.get(event.stackTraceId);
        if (stack == null) {
            return "no stack";
        }
        MethodRef method = reader.methods.get(stack.methods[0]);
        byte[] of = reader.symbols.get(reader.classes.get(method.cls).name);
        byte[] name = reader.symbols.get(method.name);
        return new String(of, StandardCharsets.UTF_8) + "." + new String(name, StandardCharsets.UTF_8);
    }
}
