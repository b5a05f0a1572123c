import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** Makes a JVM record many events of many types: allocations with stacks, parks, own events. */
public final class Load {
    @Name("bench.Order")
    @Label("Order")
    static final class Order extends Event {
        @Label("Id") long id;
        @Label("Customer") String customer;
        @Label("Amount") double amount;
        @Label("Paid") boolean paid;
        @Label("Kind") Class<?> kind;
    }

    private static volatile Object sink;

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        for (int worker = 0; worker < 4; worker++) {
            int number = worker;
            Thread thread = new Thread(() -> work(number, rounds), "worker-" + worker);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(int number, int rounds) {
        Map<Long, byte[]> kept = new HashMap<>();
        for (int round = 0; round < rounds; round++) {
            Order order = new Order();
            order.begin();
            order.id = round;
            order.customer = "customer " + (round % 997);
            order.amount = round * 0.01;
            order.paid = (round & 1) == 0;
            order.kind = round % 3 == 0 ? Load.class : Order.class;
            descend(round % 24, kept, round);
            order.commit();
            if (round % 64 == 0) {
                LockSupport.parkNanos(1_000);
            }
        }
        sink = kept;
    }

    private static void descend(int depth, Map<Long, byte[]> kept, int round) {
        if (depth > 0) {
            descend(depth - 1, kept, round);
            return;
        }
        byte[] bytes = new byte[512 + round % 2_048];
        kept.put((long) (round % 4_096), bytes);
    }
}
